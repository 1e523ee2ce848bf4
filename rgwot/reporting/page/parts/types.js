// Types of the page's data, generated from page/data.py by test_page_script.py.
/** A video of the task.
 * @typedef {{ id: string, name: string, status: string, reason: string, duration: number, fps: number, aspect: number, strip: boolean, pictured: boolean, start: number, path: string, file: string|null, size: [number, number] }} Video */
/** An order of key steps, and the number of videos that follow it.
 * @typedef {{ order: number[], n: number }} RankedOrder */
/** Facts of a result.
 * @typedef {{ id: string, method: string, decoder: string, seed: number, kind: string, K: number|null, steps: number[], order: number[], result: string, names: Record<string, string>, labels: Record<string, string>, match: Record<string, number>, given: string[], learned_from: string, lost: string, collapsed: string, soundness: Record<string, string>, warnings: string[], view: boolean, folder: string, another: string, score_file: string, colour: Record<string, number>, figures: Record<string, string> }} RunFacts */
/** The names of a run's key steps, and the id and segments (by video) of the result for which they were typed.
 * @typedef {{ result: string, names: Record<number, string>, segments: Record<string, string> }} RunNames */
/** Losses of a training, averaged over equal parts of it.
 * @typedef {{ method: string, seed: number, step: number[], loss: number[], align: number[], cidm: number[] }} Curve */
/** Scores of one seed, by ``protocol background rule metric``, each in [0, 1].
 * @typedef {{ seed: number, value: Record<string, number> }} SeedScores */
/** Scores of a method and decoder: mean and standard deviation over ``n`` seeds, and each seed.
 * @typedef {{ method: string, decoder: string, kind: string, n: number, mean: Record<string, number>, sd: Record<string, number>, seeds: SeedScores[] }} ScoreRow */
/** Scores of all results that have any, and the axes of their keys.
 * @typedef {{ protocols: string[], backgrounds: string[], rules: string[], metrics: string[], rows: ScoreRow[] }} PageScores */
/** A test of a measure of a key step between groups.
 * @typedef {{ step: number, measure: string, successor: number|null, a: string, b: string, p: number|null, adjusted: number|null, star: boolean, numbers: ((number|null)[])[] }} GroupRow */
/** The comparison of groups in a result; ``about`` describes the tests, ``few`` warns of small groups.
 * @typedef {{ about: string, few: string, groups: string[], rows: GroupRow[] }} GroupsOfRun */
/** Groups in a column of the table of videos, the words for each measure, and ``runs`` by index of the result.
 * @typedef {{ column: string, measures: Record<string, string>, runs: Record<string, GroupsOfRun> }} Groups */
/** The videos to annotate next, and for each result, by its id, the command that exports them with its key steps.
 * @typedef {{ videos: string[], commands: Record<string, string> }} Suggestion */
/** The data of all tabs of a page.
 * @typedef {{ dataset: string, task: string, version: string, frames: number, colours: number, videos: Video[], steps: Record<string, string>, truth: [number, number, number][][], true_procedures: RankedOrder[], runs: RunFacts[], notices: string[], names_path: string, typed: Record<string, RunNames>, curves: Curve[], scores: PageScores|null, groups: Groups|null, next: Suggestion|null }} PageData */
export {};
