"""The one list of secret names, row by row."""

import pytest

from codeplane.core.secrets import holds_private_key, secret_rule

SECRET = """
.env .env.local config/.env.production app.env .netrc .npmrc .yarnrc.yml auth.json home/.ssh/config
.aws/credentials .docker/config.json .config/gh/hosts.yml server.key cert.pem id_rsa id_ed25519 deploy_rsa
credentials.json service_account.json appsettings.secrets.json secrets.yaml secrets/prod.json passwords.txt
terraform.tfstate prod.tfvars .ENV token vault.kdbx kubeconfig
"""
HARMLESS = """
README.md .env.example .env.sample example.env id_rsa.pub src/credentials.py src/auth/passwords.ts
docs/topics/auth/passwords.txt doc/secrets.txt tests/test_token.py src/environment.py prod.example.tfvars
package.json auth.py secret_santa.go keyboard.c
"""


@pytest.mark.parametrize("path", SECRET.split())
def test_a_name_that_usually_holds_secrets_is_one(path: str) -> None:
    assert secret_rule(path) is not None


@pytest.mark.parametrize("path", HARMLESS.split())
def test_a_name_that_only_speaks_of_secrets_is_harmless(path: str) -> None:
    assert secret_rule(path) is None


def test_a_key_further_down_in_a_file_is_found_and_the_mark_alone_is_not() -> None:
    key = b"-----BEGIN RSA PRIVATE KEY-----\n" + b"A" * 64 + b"\n"
    assert holds_private_key(b"x = 1\n" * 1000 + key)
    assert not holds_private_key(b'MARK = "-----BEGIN RSA PRIVATE KEY-----"\n')
