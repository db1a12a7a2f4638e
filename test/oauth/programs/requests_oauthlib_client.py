"""Asks for tokens with requests-oauthlib: reads the requests as JSON, prints what was heard as JSON."""
import json
import sys

from oauthlib.oauth2 import BackendApplicationClient, OAuth2Error
from requests_oauthlib import OAuth2Session


def ask(auth_url, asked):
    client = BackendApplicationClient(client_id=asked["clientId"], scope=asked.get("scope"))
    session = OAuth2Session(client=client)
    try:
        token = session.fetch_token(
            auth_url + "/oauth2/token",
            client_id=asked["clientId"],
            client_secret=asked["secret"],
            # True: in the body. None: by HTTP Basic, the library's own choice.
            include_client_id=True if asked["way"] == "body" else None,
        )
    except OAuth2Error as error:
        return {"error": error.error, "description": error.description}
    return {
        "token": token["access_token"],
        "type": token["token_type"],
        "scope": " ".join(token["scope"]),
        "expiresIn": token["expires_in"],
    }


given = json.load(sys.stdin)
json.dump([ask(given["authUrl"], request) for request in given["requests"]], sys.stdout)
