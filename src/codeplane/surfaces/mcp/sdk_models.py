"""Import the protocol SDK so that its models are built when they are first used.

It has 550 of them, of which a session uses few; building all of them was up to a tenth of a server's start. Pydantic
reads how to build a model from its base class, whose configuration is as it was when this module has been imported.
"""

from pydantic import BaseModel, ConfigDict

_CONFIGURED = BaseModel.model_config
BaseModel.model_config = ConfigDict(**_CONFIGURED, defer_build=True)
try:
    import mcp  # noqa: F401 - this is what it is for.
finally:
    BaseModel.model_config = _CONFIGURED
