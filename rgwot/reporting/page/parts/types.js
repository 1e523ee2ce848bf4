// Types of the page's data, generated from rgwot/reporting/page/data.py by `typedefs`.

/**
 * A video of the task.
 * @typedef {object} Video
 * @property {string} id
 * @property {string} name
 * @property {string} status
 * @property {string} reason
 * @property {number} duration
 * @property {number} fps
 * @property {number} aspect
 * @property {boolean} strip
 * @property {boolean} pictured
 * @property {string} path
 * @property {string|null} file
 */

/**
 * An order of key steps, and the number of videos that follow it.
 * @typedef {object} RankedOrder
 * @property {number[]} order
 * @property {number} n
 */

/**
 * Facts of a result.
 * @typedef {object} RunFacts
 * @property {string} id
 * @property {string} method
 * @property {string} decoder
 * @property {number} seed
 * @property {string} kind
 * @property {number|null} K
 * @property {number[]} steps
 * @property {string} result
 * @property {Record<string, string>} names
 * @property {Record<string, string>} labels
 * @property {Record<string, number>} match
 * @property {string[]} given
 * @property {string} taught
 * @property {string[]} stale
 * @property {string} collapsed
 * @property {Record<string, string>} soundness
 * @property {string[]} warnings
 * @property {boolean} view
 * @property {string} folder
 * @property {string} score_file
 * @property {Record<string, number>} colour
 * @property {Record<string, string>} figures
 */

/**
 * Names of key steps in the file of names, for the key steps with the id ``result``.
 * @typedef {object} TypedNames
 * @property {string} result
 * @property {Record<string, string>} names
 */

/**
 * Losses of a training, averaged over equal parts of it.
 * @typedef {object} Curve
 * @property {string} method
 * @property {number} seed
 * @property {number[]} step
 * @property {number[]} loss
 * @property {number[]} align
 * @property {number[]} cidm
 */

/**
 * Scores of one seed, by ``protocol background rule metric``, each in [0, 1].
 * @typedef {object} SeedScores
 * @property {number} seed
 * @property {Record<string, number>} value
 */

/**
 * Scores of a method and decoder: mean and standard deviation over ``n`` seeds, and each seed.
 * @typedef {object} ScoreRow
 * @property {string} method
 * @property {string} decoder
 * @property {string} kind
 * @property {number} n
 * @property {Record<string, number>} mean
 * @property {Record<string, number>} sd
 * @property {SeedScores[]} seeds
 */

/**
 * Scores of all results that have any, and the axes of their keys.
 * @typedef {object} Scores
 * @property {string[]} protocols
 * @property {string[]} backgrounds
 * @property {string[]} rules
 * @property {string[]} metrics
 * @property {ScoreRow[]} rows
 */

/**
 * A test of a measure of a key step between groups.
 * @typedef {object} GroupRow
 * @property {number} step
 * @property {string} measure
 * @property {number|null} successor
 * @property {string} a
 * @property {string} b
 * @property {number|null} p
 * @property {number|null} adjusted
 * @property {boolean} star
 * @property {((number|null)[])[]} numbers
 */

/**
 * The comparison of groups in a result; ``about`` describes the tests, ``few`` warns of small groups.
 * @typedef {object} GroupsOfRun
 * @property {string} about
 * @property {string} few
 * @property {string[]} groups
 * @property {GroupRow[]} rows
 */

/**
 * Groups in a column of the table of videos, the words for each measure, and ``runs`` by index of the result.
 * @typedef {object} Groups
 * @property {string} column
 * @property {Record<string, string>} measures
 * @property {Record<string, GroupsOfRun>} runs
 */

/**
 * Which videos to annotate next, and the command that exports them.
 * @typedef {object} Suggestion
 * @property {string} sentence
 * @property {string} command
 */

/**
 * What every tab of a page needs.
 * @typedef {object} PageData
 * @property {string} dataset
 * @property {string} task
 * @property {string} version
 * @property {number} frames
 * @property {number} colours
 * @property {Video[]} videos
 * @property {Record<string, string>} steps
 * @property {[number, number, number][][]} truth
 * @property {RankedOrder[]} true_procedures
 * @property {RunFacts[]} runs
 * @property {string[]} notices
 * @property {string} names_path
 * @property {Record<string, TypedNames>} typed
 * @property {Curve[]} curves
 * @property {Scores|null} scores
 * @property {Groups|null} groups
 * @property {Suggestion|null} next
 */

export {};
