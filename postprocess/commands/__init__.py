"""The commands, one a file: its columns, its options, what it prints and draws, and its section of the report."""

from . import capacity, cosine, efficiency, epsilon, frequency, history, packing, perplexity, report, table, tasks

COMMANDS = (history, table, perplexity, frequency, efficiency, tasks, cosine, epsilon, capacity, packing, report)
