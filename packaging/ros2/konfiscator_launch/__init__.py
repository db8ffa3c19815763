# SPDX-License-Identifier: LGPL-2.1-or-later
"""The environment of a node that is to run under konfiscator.

    from konfiscator_launch import under_konfiscator

    Node(..., additional_env=under_konfiscator())
    ComposableNodeContainer(
        ..., additional_env=under_konfiscator(engine="tlsf",
                                              tlsf_initial="200M"))

What LD_PRELOAD has already stays, behind the library. Nothing but the standard
library is needed.
"""

import os

LIBRARY = "libkonfiscator.so.1"


def merged_preload(library, before):
    """LD_PRELOAD with a library first, and once; @before may be None."""
    # ld.so splits at spaces and colons, without quoting.
    if not library or any(c in library for c in " :"):
        raise ValueError("'%s' cannot stand in LD_PRELOAD" % library)
    name = os.path.basename(library)
    others = (before or "").replace(":", " ").split()
    return ":".join([library] + [o for o in others
                                 if os.path.basename(o) != name])


def under_konfiscator(library=LIBRARY, environment=None, **options):
    """Variables for additional_env of a Node or ComposableNodeContainer.

    An option is a name of konfiscator(7) without its beginning, in any case,
    such as engine="tlsf" or tlsf_initial="100M". @environment is what the
    node's LD_PRELOAD comes from otherwise: usually that of this process.
    """
    if environment is None:
        environment = os.environ
    variables = {"LD_PRELOAD": merged_preload(
        library, environment.get("LD_PRELOAD"))}
    for name, value in options.items():
        if isinstance(value, bool):
            value = int(value)
        variables["KONFISCATOR_" + name.upper()] = str(value)
    return variables
