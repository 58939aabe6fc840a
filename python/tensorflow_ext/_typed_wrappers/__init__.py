# SPDX-License-Identifier: Apache-2.0
"""Typed wrappers of ops in other languages: `python -m tensorflow_ext wrappers`.

`op_interface` describes an op by its OpDef, independent of any language. A language is a
module of this package with a `LANGUAGE` (`language.Language`), listed in
`command.LANGUAGES`, with templates in `templates/`. `cxx` is an example.
"""
