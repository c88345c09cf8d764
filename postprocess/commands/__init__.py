"""The commands, one a file of that name: its columns, its options, what it prints and draws, its section of the report."""

# name -> what the list of commands says of it
COMMANDS = {
    "history": "figure: loss against training tokens",
    "table": "overview and cost, on standard output",
    "perplexity": "table: loss in all units, spread and intervals",
    "frequency": "table: loss by token frequency",
    "efficiency": "table: training tokens to reach the target's final loss",
    "tasks": "table: evaluation tasks",
    "cosine": "figure and table: cosines of embedding rows",
    "epsilon": "figure and table: epsilon while the model trains",
    "capacity": "table: epsilon, class and capacity of embedding matrices",
    "packing": "table: packing cells, and fits of the capacity laws",
    "report": "one HTML page with all of it",
}
