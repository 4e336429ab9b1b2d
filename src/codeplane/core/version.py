"""The product's version and the version of its API."""

VERSION = "0.1.0"
API_VERSION = "0.1.0"
