"""Typed ops and build settings for other languages: the commands `wrappers` and `config` of
`python -m tensorflow_ext`.

The modules may change; the command line is the interface. `op_interface` describes an op by its
OpDef, independent of any language. Each language is a link to bindings/LANGUAGE/wrappers: a package
with a `LANGUAGE` (`language.Language`) and its templates. `cxx` is an example.
"""
