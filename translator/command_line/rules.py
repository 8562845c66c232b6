"""``sonnx rules``: what the authors of rules work with."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Check, test, list, explain and format translation rules.")
