# SPDX-License-Identifier: Apache-2.0
"""Typed wrappers of ops in other languages: `python -m tensorflow_ext wrappers`.

`op_interface` describes an op by its OpDef, without a word of any language. A language
is a module of this package with a `LANGUAGE` (`language.Language`), named in
`command.LANGUAGES`, and its templates in `templates/`; `cxx` is the example.
"""
