# SPDX-License-Identifier: LGPL-2.1-or-later
"""A container of components under konfiscator, in pools of the engine tlsf:

    ros2 launch konfiscator container.launch.py
    ros2 component load /konfiscator/container composition composition::Talker
"""

from launch import LaunchDescription
from launch_ros.actions import ComposableNodeContainer

from konfiscator_launch import under_konfiscator


def generate_launch_description():
    return LaunchDescription([
        ComposableNodeContainer(
            name="container",
            namespace="konfiscator",
            package="rclcpp_components",
            executable="component_container",
            composable_node_descriptions=[],
            additional_env=under_konfiscator(
                engine="tlsf", tlsf_initial="200M", tlsf_additional="100M"),
        ),
    ])
