"""What a surface may begin before it opens the workspace: facts for a first index."""

from codeplane.index import head_start

HeadStart = head_start.HeadStart
