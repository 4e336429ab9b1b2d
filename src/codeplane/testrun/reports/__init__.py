"""Parsers of reports that several runners share."""
