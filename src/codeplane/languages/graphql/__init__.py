"""The types and operations of GraphQL files.

Decisions about what counts:

- Object types, input types, unions and scalars are TYPE, interfaces INTERFACE, enums ENUM; fields are FIELD and the
  values of an enum CONSTANT under them, with arguments and type as the signature. An extension counts like what it
  extends.
- Directives, fragments and named operations are BLOCK. Arguments, and the fields that an operation asks for, are left
  out.
"""
