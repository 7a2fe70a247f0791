"""The report: one page of HTML, and a summary in Markdown, from an analysis and what lies beside the log.

Pure: values in, text out. Whatever comes from a log is escaped where it enters the page (`html.py`), and nowhere else.
"""
