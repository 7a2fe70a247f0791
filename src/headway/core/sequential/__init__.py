"""The sequential method: keeps that can be believed, at a known cost.

A candidate is measured first (B), then in pairs with the current best (A, measured now), in alternating order, until
its statistic passes the boundary or the futility line. Raw values of unchanged code are the only memory; they are read
back from the log.
Source: DECISIONS; `docs/decisions.md` says it in plain words.
"""
