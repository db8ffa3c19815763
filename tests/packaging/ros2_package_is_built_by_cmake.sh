#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# package.xml is what ROS' own parser accepts, with the version of the project;
# CMake installs the package where ros2 launch, Python and colcon look.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs cmake cmake
needs xmllint libxml2-utils
needs catkin_package_version python3-catkin-pkg
workdir

ros2=$top_srcdir/packaging/ros2
xmllint --noout "$ros2/package.xml" "$ros2/launch/node.launch.xml"
version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' \
	"$top_builddir/config.h")
/usr/bin/python3 - "$ros2/package.xml" "$version" <<'END'
import sys

from catkin_pkg.package import parse_package

warnings = []
package = parse_package(sys.argv[1], warnings=warnings)
package.validate(warnings=warnings)
assert not warnings, warnings
assert package.name == "konfiscator", package.name
assert package.version == sys.argv[2], package.version
assert package.get_build_type() == "cmake", package.get_build_type()
END

cmake -S "$ros2" -B "$WORK/build" -DCMAKE_INSTALL_PREFIX="$WORK/prefix" \
	-DKONFISCATOR_LIBRARY=OFF >"$WORK/out" 2>&1 || fail "$(cat "$WORK/out")"
cmake --build "$WORK/build" >"$WORK/out" 2>&1 || fail "$(cat "$WORK/out")"
cmake --install "$WORK/build" >"$WORK/out" 2>&1 || fail "$(cat "$WORK/out")"
for file in share/ament_index/resource_index/packages/konfiscator \
	share/konfiscator/package.xml \
	share/konfiscator/launch/node.launch.xml \
	share/konfiscator/launch/node.launch.py \
	share/konfiscator/launch/container.launch.py; do
	[ -e "$WORK/prefix/$file" ] || fail "$file is not installed"
done
site=$(echo "$WORK"/prefix/lib/python3.*/site-packages)
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$site "$PYTHON3" -c '
import konfiscator_launch
print(konfiscator_launch.merged_preload("k.so", "a.so"))' >"$WORK/out"
equal "the installed module" k.so:a.so "$(cat "$WORK/out")"
