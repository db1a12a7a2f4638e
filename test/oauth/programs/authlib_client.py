"""Asks for tokens with Authlib: reads the requests as JSON, prints what was heard as JSON."""
import json
import sys

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from requests import HTTPError


def ask(auth_url, asked):
    session = OAuth2Session(
        asked["clientId"],
        asked["secret"],
        scope=asked.get("scope"),
        token_endpoint_auth_method="client_secret_post" if asked["way"] == "body" else "client_secret_basic",
    )
    try:
        token = session.fetch_token(
            auth_url + "/oauth2/token", grant_type=asked.get("grantType", "client_credentials")
        )
    except OAuthError as error:
        return {"error": error.error, "description": error.description}
    except HTTPError as error:
        return {"error": str(error.response.status_code)}
    return {
        "token": token["access_token"],
        "type": token["token_type"],
        "scope": token["scope"],
        "expiresIn": token["expires_in"],
    }


given = json.load(sys.stdin)
json.dump([ask(given["authUrl"], request) for request in given["requests"]], sys.stdout)
