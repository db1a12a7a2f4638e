"""
Loads a file with Beancount, told to calculate with as many digits as our sums can have, and prints as JSON what it had to
say against it and, of every account, what it has added up itself.
"""
import decimal
import json
import sys

decimal.getcontext().prec = 60

from beancount import loader
from beancount.core import realization
from beancount.core.data import Transaction

entries, errors, _ = loader.load_file(sys.argv[1])
accounts = {}
for account in realization.iter_children(realization.realize(entries)):
    for position in account.balance:
        accounts[f"{account.account} {position.units.currency}"] = format(position.units.number, "f")
json.dump(
    {
        "errors": [error.message for error in errors],
        "transactions": sum(isinstance(entry, Transaction) for entry in entries),
        "balances": accounts,
    },
    sys.stdout,
)
