"""The operations in a LiteRT file."""

import pytest


def operations(path):
    """Names of the builtin operations in a file, and of all others (Flex and custom ones)."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes()))
    names = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    codes = [max(c.builtinCode, c.deprecatedBuiltinCode) for c in model.operatorCodes]
    builtin = {names[code] for code in codes}
    return builtin - {"CUSTOM"}, [c.customCode for c in model.operatorCodes if c.customCode]
