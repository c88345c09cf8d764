"""The commands, a few lines each: read, compute, draw or print. The work is in the other modules."""

import argparse

from .failure import FILES, USAGE, Failure


def history(options: argparse.Namespace) -> None:
    from . import history_figure, reader, style, variants

    found = variants.variants_of(reader.read_run(options.run))
    reference = variants.find_reference(found, options.reference)
    path = options.output or options.run / "history.png"
    style.save(history_figure.draw(variants.ordered(found, reference), reference), path)
    print(f"wrote {path}")


def table(options: argparse.Namespace) -> None:
    from . import columns, comparison, reader, tables, variants

    found = variants.variants_of(reader.read_run(options.run))
    reference = variants.find_reference(found, options.reference)
    several = variants.several_seeds(found) and not options.members
    rows = comparison.compare(variants.singles(variants.ordered(found, reference)) if options.members else found, reference)
    named = columns.of_members if options.members else list
    if _printed(options, rows, named(columns.TABLE_FULL)):
        return
    blocks = [named(keys) for keys in _blocks(columns.TABLE, several)]
    print(tables.text_blocks(rows, blocks))
    _print_reference(found, reference)
    print(tables.folded(comparison.statements(rows)))
    print("\n" + tables.definition_text(columns.flat(blocks)))


def perplexity(options: argparse.Namespace) -> None:
    from . import columns, comparison, perplexity_figure, reader, style, tables, variants

    found, notes = _variants(options)
    reference = variants.find_reference(found, options.reference)
    rows = comparison.compare(found, reference)
    if options.output and reference is None:
        raise Failure(USAGE, "-o: the figure shows differences, and there is no reference; name one with --reference")
    if not _printed(options, rows, columns.PERPLEXITY_FULL):
        blocks = _blocks(columns.PERPLEXITY, variants.several_seeds(found))
        print(tables.text_blocks(rows, blocks))
        _print_reference(found, reference)
        print("\n".join(notes))
        print(tables.definition_text(columns.flat(blocks)))
    if options.output:
        style.save(perplexity_figure.draw(variants.ordered(found, reference), rows, reference), options.output)
        _wrote(options)


def frequency(options: argparse.Namespace) -> None:
    from . import columns, definitions, frequency as analysis, frequency_figure, reader, style, tables, variants

    found, notes = _variants(options)
    reference = variants.find_reference(found, options.reference)
    result = analysis.analyse(found, reference)
    if result is None:
        raise Failure(FILES, f"{options.run}: no frequency data yet at a validation that all members have made (history.h5 "
                             "has it from version 2 on)")
    if not _printed(options, result.rows, columns.FREQUENCY_FULL):
        keys = definitions.chosen(columns.FREQUENCY, variants.several_seeds(found))
        for label in result.labels:
            rows = [row for row in result.rows if row.bin == label]
            print(f"{analysis.bin_title(rows[0])}\n{tables.text_table(rows, keys)}\n")
        print(tables.folded(analysis.remarks(result)))
        _print_reference(found, reference)
        print("\n".join(notes))
        print(tables.definition_text(["bin", "ids", "targets", *keys]))
    if options.output:
        style.save(frequency_figure.draw(result), options.output)
        _wrote(options)


def efficiency(options: argparse.Namespace) -> None:
    from . import columns, efficiency as analysis, reader, tables, variants

    found = variants.variants_of(reader.read_run(options.run))
    target = variants.find_reference(found, options.target, "--target")
    if target is None:
        raise Failure(USAGE, f"{options.run}: no variant named {variants.DEFAULT_REFERENCE} among several; name the target "
                             "with --target")
    rows = analysis.analyse(found, target)
    if _printed(options, rows, columns.EFFICIENCY_FULL):
        return
    blocks = _blocks(columns.EFFICIENCY, variants.several_seeds(found))
    print(tables.text_blocks(rows, blocks))
    print("\n" + tables.folded([f"target: {target.name}"] + analysis.remarks(rows, target)))
    print("\n" + tables.definition_text(columns.flat(blocks)))
    print(tables.folded([analysis.METHOD]))


def tasks(options: argparse.Namespace) -> None:
    from . import columns, reader, style, tables, task_figure, task_table, variants

    run, scores, missing = reader.read_tasks(options.run)
    found = variants.variants_of(run)
    reference = variants.find_reference(found, options.reference)
    rows = task_table.rows(found, reference, scores)
    if not _printed(options, rows, columns.TASKS_FULL):
        keys = _blocks([columns.TASKS], variants.several_seeds(found))[0]
        print(tables.text_table(rows, keys))
        _print_reference(found, reference)
        print("".join(f"no {reader.TASKS} yet: {name}\n" for name in missing), end="")
        print(tables.folded(task_table.remarks(scores)) + "\n")
        print(tables.definition_text(keys))
    if options.output:
        style.save(task_figure.draw(rows), options.output)
        _wrote(options)


def cosine(options: argparse.Namespace) -> None:
    from . import columns, cosine_figure, cosine_table, reader, style, tables, variants

    found = variants.variants_of(reader.read_run(options.run))
    shown = variants.ordered(found, variants.find_reference(found, options.reference))
    members = [member for variant in shown for member in variant.members]
    measured, missing = cosine_table.measure_members(members, options.matrix, options.tokens)
    if not measured:
        raise Failure(FILES, f"{options.run}: no embedding.h5 yet in any member")
    rows = cosine_table.over_seeds(shown, measured)
    path = options.output or options.run / ("cosine.png" if options.matrix == "input" else "cosine_output.png")
    style.save(cosine_figure.draw([variant.name for variant in shown], rows, options.matrix), path)
    blocks = _blocks(columns.GEOMETRY, variants.several_seeds(found))
    print(tables.text_blocks(rows, blocks))
    print("".join(f"\nno embedding.h5 yet: {name}" for name in missing))
    print(tables.definition_text(columns.flat(blocks)))
    print(f"\nwrote {path}")


def epsilon(options: argparse.Namespace) -> None:
    from . import columns, epsilon_curves, epsilon_figure, reader, style, tables, variants

    found = variants.variants_of(reader.read_run(options.run))
    shown = variants.ordered(found, variants.find_reference(found, options.reference))
    measured = epsilon_curves.curves_of(shown)
    rows = epsilon_curves.last(measured)
    if not rows:
        raise Failure(FILES, f"{options.run}: no geometry in any history.h5; it is measured where the deck sets geometry.every")
    if not _printed(options, rows, columns.EPSILON):
        print(tables.text_table(rows, _blocks([columns.EPSILON], variants.several_seeds(found))[0]))
        print("\n" + tables.definition_text(columns.EPSILON))
    path = options.output or options.run / "epsilon.png"
    style.save(epsilon_figure.draw([variant.name for variant in shown], measured), path)
    if not (options.csv or options.markdown):
        print(f"\nwrote {path}")


def packing(options: argparse.Namespace) -> None:
    from . import columns, packing_figure, packing_table, reader, style, tables

    cells = reader.read_cells(options.folder) if options.folder else []
    if options.toml:
        print(packing_table.toml(cells))
        return
    rows = packing_table.rows(cells, options.published or not cells)
    fits = packing_table.fits(cells)
    asked = (fits, columns.FITS_FULL) if options.fits else (rows, columns.PACKING_FULL)
    if not _printed(options, *asked):
        if options.folder:
            print(tables.text_table(rows, columns.PACKING) + "\n")
        print(tables.text_table(fits, columns.FITS) + "\n")
        print(tables.text_table([fit for fit in fits if fit.form == "four-parameter"], columns.FITS_FOUR) + "\n")
        print("".join(f"{tables.folded([line])}\n" for line in packing_table.remarks(cells, fits)), end="")
        print(tables.definition_text([*(columns.PACKING if options.folder else []), *columns.FITS, *columns.FITS_FOUR]))
    if options.output:
        style.save(packing_figure.draw(cells, fits), options.output)
        _wrote(options)


def capacity(options: argparse.Namespace) -> None:
    from . import capacity_figure, capacity_histograms, capacity_table, columns, reader, style, tables

    files = [reader.read_capacity(path) for path in options.files]
    rows = capacity_table.rows(files)
    if not _printed(options, rows, columns.CAPACITY_FULL):
        print(tables.text_table(capacity_table.facts(files), columns.CAPACITY_FACTS) + "\n")
        print(tables.text_blocks(rows, columns.CAPACITY) + "\n")
        print("".join(f"{tables.folded([line])}\n" for line in capacity_table.remarks(files)), end="")
        print(tables.definition_text([*columns.CAPACITY_FACTS, *columns.flat(columns.CAPACITY)]))
    if options.output:
        style.save(capacity_figure.draw(rows, capacity_table.laws(files)[0]), options.output)
        _wrote(options)
    if options.histograms:
        style.save(capacity_histograms.draw(rows), options.histograms)
        _wrote(options, options.histograms)


def report(options: argparse.Namespace) -> None:
    from . import geometry_sections, reader, report as page, style, variants

    path = options.output or options.run / "report.html"
    if not reader.has_run(options.run) and geometry_sections.files_of(options.run):
        text = geometry_sections.alone(options.run)
    else:
        run = reader.read_run(options.run)
        found = variants.variants_of(run)
        text = page.build(run, found, variants.find_reference(found, options.reference), options.tokens)
    style.write_whole(path, text.encode("utf-8"))
    print(f"wrote {path}")


def _variants(options: argparse.Namespace) -> tuple[list, list[str]]:
    """(variants of the run as history.h5 or, with --evaluation, evaluation.h5 has them; lines that say what was read)."""
    from . import reader, tables, variants

    if not options.evaluation:
        return variants.variants_of(reader.read_run(options.run)), []
    run, missing = reader.read_evaluations(options.run)
    lines = [f"no {reader.EVALUATION} yet: {', '.join(missing)}"] if missing else []
    for what, names in reader.what_was_evaluated(run).items():
        whose = "every member" if len(names) == len(run.members) else ", ".join(names)
        lines.append(f"{reader.EVALUATION} of {whose}: {what}")
    return variants.variants_of(run), [tables.folded(lines), ""]


def _printed(options: argparse.Namespace, rows: list, keys: list[str]) -> bool:
    """Prints CSV or Markdown with the columns `keys` if the options ask for it."""
    from . import tables

    if options.csv:
        print(tables.csv_table(rows, keys))
    elif options.markdown:
        print(tables.markdown_table(rows, keys))
    return options.csv or options.markdown


def _blocks(blocks: list[list[str]], several: bool) -> list[list[str]]:
    from . import definitions

    return [definitions.chosen(keys, several) for keys in blocks]


def _print_reference(found: list, reference: object) -> None:
    from . import tables, variants

    print(f"\nreference: {reference.name if reference else 'none'}")
    print("".join(f"{tables.folded([line])}\n" for line in variants.unpaired(found, reference)), end="")


def _wrote(options: argparse.Namespace, path: object = None) -> None:
    """Says where the figure is, unless the output is a table to be read by a program."""
    if not (options.csv or options.markdown):
        print(f"\nwrote {path or options.output}")
