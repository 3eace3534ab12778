"""Negative-control tasks made from templates, one in each module: small work that no skill should help with."""
