# Named targets: what to ask for when no single file is meant.


# What needs no training, of page.datasets; pages of this run ask for nothing else (Catalogue.check_targets).
rule first:
    input:
        study("first_files"),
    localrule: True


rule demo:
    input:
        paths.at(paths.TABLE, table="demo"),
        paths.at(paths.SEGMENT_BARS, dataset="demo", task="assembly", seed=0),
        paths.at(paths.YARDSTICKS, dataset="demo", task="assembly"),
        paths.at(paths.PAGE, dataset="demo", task="assembly"),
    localrule: True


rule paper:
    input:
        study("paper_files"),
    localrule: True
