"""cc_rooms: a library of few translation units, each with many files.

TensorFlow's headers take a compiler 5 to 10 s per translation unit, and our own files
less than one. So a room is one unit, which includes its files one after another. They
share an anonymous namespace, so their names in it must differ. A change recompiles its
room, in 10 to 30 s.
"""

def _in_repository(src):
    """The path of a file from the root of its repository, as used in includes."""
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
      rooms: the files of each room, by the room's name.
      textual_hdrs: files that the rooms include and that are not compiled separately.
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
