# SPDX-License-Identifier: LGPL-2.1-or-later
"""A node under konfiscator, in pools of the engine tlsf:

    ros2 launch konfiscator node.launch.py pkg:=demo_nodes_cpp exec:=talker
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from konfiscator_launch import under_konfiscator


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("pkg"),
        DeclareLaunchArgument("exec"),
        Node(
            package=LaunchConfiguration("pkg"),
            executable=LaunchConfiguration("exec"),
            additional_env=under_konfiscator(engine="tlsf"),
        ),
    ])
