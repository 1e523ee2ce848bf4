"""Score a prediction by every protocol."""

from rgwot.study.script import stage

with stage(snakemake, "evaluate") as job:
    from functools import partial

    from rgwot.evaluation import EvaluationSettings
    from rgwot.procedure.scores import graph_table
    from rgwot.stages.evaluate import evaluate
    from rgwot.stages.procedure import read_deviation_list, read_procedure, read_task_graph

    files, scoring = snakemake.input, EvaluationSettings.of(snakemake.params.settings)
    graph = read_task_graph(files.graph[0]) if files.graph else None
    told = read_deviation_list(files.deviations)
    evaluate(
        files.manifest,
        files.annotations,
        files.segments,
        files.diagnostics,
        snakemake.output[0],
        {**snakemake.wildcards, "seed": job.seed},
        snakemake.params.key_steps,
        stride=scoring.stride,
        more=partial(graph_table, predicted=read_procedure(files.procedure), deviating=told, graph=graph),
        also=scoring.also,
    )
