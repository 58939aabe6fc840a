# SPDX-License-Identifier: Apache-2.0
"""cc_rooms: a library of few translation units, each of many files.

A compiler reads TensorFlow's headers for 5 to 10 s a translation unit, and our files
below them for less than one. So the files of a room are one unit, which includes them
one after another. They share their anonymous namespaces: a name in one must differ from
those in the others. A change compiles its room again, in 10 to 30 s.
"""

def _in_repository(src):
    """The path of a file from the root of its repository, as files there include it."""
    return src.short_path.split("/", 2)[2] if src.short_path.startswith("../") else src.short_path

def _room_impl(ctx):
    ctx.actions.write(ctx.outputs.out, "".join([
        "#include \"%s\"\n" % _in_repository(src)
        for src in ctx.files.srcs
    ]))

_room = rule(
    implementation = _room_impl,
    attrs = {
        "out": attr.output(mandatory = True),
        "srcs": attr.label_list(allow_files = [".cc"]),
    },
)

def cc_rooms(name, rooms, textual_hdrs = [], **kwargs):
    """A cc_library whose sources are rooms.

    Args:
      name: the library.
      rooms: by the room's name, its files.
      textual_hdrs: files that others of the rooms include, not compiled by themselves.
      **kwargs: passed on to cc_library.
    """
    units = []
    for room, srcs in rooms.items():
        unit = "%s_room_%s.cc" % (name, room)
        _room(
            name = unit[:-len(".cc")],
            srcs = srcs,
            out = unit,
        )
        units.append(unit)
    native.cc_library(
        name = name,
        srcs = units,
        textual_hdrs = textual_hdrs + [src for srcs in rooms.values() for src in srcs],
        **kwargs
    )
