"""What a surface may begin before it opens the workspace: facts for a first index."""

from codeplane.index.head_start import HeadStart

__all__ = ("HeadStart",)
