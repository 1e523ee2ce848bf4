"""Write a synthetic dataset with its ground truth."""

from rgwot.study.script import stage

# The processes that write the videos import this file, too, and must not run the job again.
if __name__ == "__main__":
    with stage(snakemake, "synth"):
        from rgwot.synthetic.settings import SynthSettings
        from rgwot.synthetic.videos import write_dataset

        write_dataset(SynthSettings(**snakemake.params.settings), snakemake.output[0], jobs=snakemake.threads)
