/* One run of a generated program's command: options, files, logs, and the drivers that loop over a
   session. Contract: all that can be refused is refused before the session starts; a driver runs
   on thread 0 and returns the process's exit code. */
#ifndef GCRT_COMMAND_H
#define GCRT_COMMAND_H
#include "runtime/exec/session.h"
#include <pthread.h>

/* ---- cli.c ---- */
enum {
#define OPT(id, ...) OPT_##id,
#include "runtime/program/options.def"
#undef OPT
  OPT_COUNT
};
typedef struct OutputOption { /* what is asked for one output */
  const char *save, *expect;
  bool text;
} OutputOption;
typedef struct Options {
  bool info, help, version;
  int ranks;            /* info -n: other than the program's own; 0: its own */
  const GcEntry *entry; /* of gc_program; NULL: `info` of all */
  bool given[OPT_COUNT];
  const char *text[OPT_COUNT];
  uint64_t count[OPT_COUNT]; /* COUNT and SEED */
  double real[OPT_COUNT];
  const char **inputs;   /* as written, by index of the entry's input */
  const char *watch[16]; /* PATH[:N] */
  int nwatch;
  const char *load[16]; /* of --load, in order */
  int nload;
  const GcEntry *validate;       /* of gc_program, or NULL */
  uint64_t validate_every;       /* steps; 0: each epoch */
  const char **validation_files; /* by index of its inputs */
  OutputOption *outputs;
  double *hypers;
  bool *hyper_given; /* on the command line */
} Options;
bool cli_parse(Options *o, int argc, char **argv, Err *e);
/* Of an option whose value is yes or no: 1 or 0, also where it is not given; -1: it is neither. */
int cli_yes_or_no(const Options *o, int id, Err *e);
bool cli_reads_no_data(const Options *o); /* --steps 0 that names no input */
void cli_help(const Options *o, const char *program);
void cli_free(Options *o);

typedef struct Metas Metas; /* checkpoint.c: the metadata of a checkpoint */

/* ---- history.c: what a run's scalars were, in few points; for the sparkline and the plot ---- */
typedef struct Point {
  double step, value; /* means of the values that it stands for */
} Point;
enum { HISTORY_POINTS = 128 };
typedef struct Series {
  Point at[HISTORY_POINTS];
  uint64_t n, per;   /* points, and values that each stands for */
  double steps, sum; /* of the point that is being made */
  uint64_t count;
} Series;

/* ---- validate.c: --validate, --save-best and --patience ---- */
typedef struct Metric { /* what tells the best validation */
  int output;           /* of the validating entry, or -1 */
  bool falls;           /* less is better */
} Metric;
typedef struct Validation {
  const GcEntry *entry; /* of the session's program; NULL: none validates */
  Dataset data;
  Series **history; /* of each of its figures */
  double *means;    /* of each output of the last validation; NaN where it has none */
  Metric metric;
  uint64_t at;        /* steps done when it ran last, in this process; 0: it did not */
  double best;        /* of the metric; NaN: there is none yet */
  uint64_t best_step; /* of the validation that it is from */
  uint64_t waited;    /* validations since */
  bool saved;         /* --save has the weights of the best one */
  bool owed;          /* a signal ended the one of the last step, which comes again on --resume */
} Validation;

/* ---- inspect.c: --check-finite and --watch ---- */
typedef struct Watched Watched;
typedef struct Inspection {
  const Dataset *data; /* of the run, and its batch */
  uint64_t batch;
  int left; /* steps of the run from the first one on whose value is not finite; 0: all are */
  Watched *watched;
  int n;
} Inspection;

typedef struct Command {
  const char *name; /* argv[0], for messages */
  Options options;
  Err err;
  Session session;
  GcEntry entries[2];   /* of the session: the one that runs, and the one that validates it */
  const GcEntry *entry; /* that runs, of the session's program */
  Dataset data;
  Validation validation;
  double *now;       /* of each output that is a scalar: its value in the last step */
  double *sums;      /* of each output, over the epoch so far */
  WeightsName *load; /* of each --load */
  const char *image; /* of what --load reads; or NULL */
  WeightsName saved; /* of --save */
  OutFile save, checkpoint, profile, plot, *outputs;
  uint64_t checkpoint_every; /* steps; 0: each epoch */
  Metas *metas;              /* made before the session starts */
  Inspection inspection;
  Series **history; /* of each output that is a scalar; NULL for others */
  double started;   /* clock, of training */
  double logged;    /* seconds of the rows of a log that is continued */
  FILE *log;
  Labels labels;      /* words of inputs: of the weights that are read, and of the files */
  char *labels_text;  /* of them, for what is written */
  const Words *words; /* of --words; NULL: it is not given */
  int words_output;
  int failed;    /* exit code of a failure that did not stop the run */
  GcComm *comm;  /* of several ranks; NULL: it is alone */
  int signal;    /* the one that ends all ranks */
  bool together; /* what failed has failed on all ranks … */
  bool mute;     /* … and another one says it */
  char rank_name[300];
} Command;
/* Kinds of globals, 1 << GcGlobalKind, whose initial values the command does not need. */
unsigned command_skips(const Command *cmd);
/* The exit code; where cmd->err has one, nobody has printed it. */
int command_run(Command *cmd, int argc, char **argv);
void command_free(Command *cmd);
/* Runs the entry, whose inputs then hold that batch; false: cmd->err says why it failed. */
bool command_step(Command *cmd, const RunRequest *q, uint64_t batch);

/* ---- ranks.c: a data-parallel program ---- */
/* Before anything is read or printed. */
void ranks_begin(Command *cmd);
/* Before anything is prepared: of a program that has ranks, this process becomes one of them. */
bool ranks_open(Command *cmd, Err *e);
bool ranks_join(Command *cmd); /* when all are set up: a device's collectives can run */
/* Its ranks have collectives on their devices alone, of which each has one. */
bool ranks_on_devices(const Command *cmd);
bool ranks_speaks(const Command *cmd); /* this is the one that prints and writes */
/* Whether all ranks are `ok`; else one of them says why. */
bool ranks_agree(Command *cmd, bool ok);
/* The error at hand is every rank's. */
void ranks_fail(Command *cmd);
/* After each step, with --check-finite: whether all ranks have found only finite values. Else the
   one speaks in which the earliest step made one that is not: the others may have it from a
   collective. A device that failed keeps its error. */
bool ranks_finite(Command *cmd);
/* After each step: a signal that any rank has seen is everyone's. */
void ranks_signal(Command *cmd);
int command_signal(const Command *cmd); /* that ends the run; 0: none */
/* Of so many threads, those of one rank: the ranks of a machine share its cores. */
int ranks_threads(const Command *cmd, int threads);
/* Seconds in which this rank has stood still for messages of others; NaN: not known. */
double ranks_waited(const Command *cmd);
bool ranks_near(
    const Command *cmd); /* another rank is on this machine, and may want the same cores */
/* Before an error is printed: one that all ranks have is rank 0's to say, which then ends them; of
   those of a machine over MPI that have one, the first says it. */
void ranks_let_first(Command *cmd);
void ranks_close(const Command *cmd, int code); /* ends the others, unless they end, too */

/* ---- ranks_start.c ---- */
typedef struct RanksStart {
  const char *what; /* the other ranks have not, if it takes too long: "started" */
  double seconds;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t change;
  bool over;
} RanksStart;
/* Between the two the process ends with a message, if they are further apart. */
bool ranks_start_begins(RanksStart *s, const char *what, double seconds, Err *e);
void ranks_start_ends(RanksStart *s);

/* ---- inspect.c ---- */
bool inspect_prepare(Command *cmd, Err *e);
/* Around a run of the command's entry or of the validating one. */
void inspect_begin(Command *cmd, const Dataset *data, uint64_t batch);
void inspect_end(Command *cmd);
void inspect_free(Command *cmd);

/* ---- validate.c ---- */
/* Before the session: the entry, its files, the metric. */
bool validation_prepare(Command *cmd, const DataRequest *q, Err *e);
bool validation_takes(const GcEntry *v);         /* whether an entry can validate */
bool validation_check(const GcEntry *v, Err *e); /* and why it cannot */
bool validation_measures(const GcTensor *t);     /* whether an output is a figure of it */
bool validation_due(const Command *cmd, uint64_t done, bool epoch);
/* Validates after so many steps. False: cmd->err says why it failed, or a signal came. */
bool validation_run(Command *cmd, uint64_t done);
/* What the best figure is of, as "-test.loss" where less is better; empty: nothing validates. */
void validation_metric(const Command *cmd, char *text, size_t size);
/* Once the best figure is a checkpoint's: it begins anew if it is `was` and not `now`, or if --save
   has no weights of it. */
void validation_resume(Command *cmd, const char *was, const char *now);
bool validation_ends(const Command *cmd); /* --patience is at its end */
/* Says which was the best, and, if steps are left, that the training ended early. */
void validation_end(Command *cmd, bool early);

/* ---- aggregate.c: an output of all rows from those of batches ---- */
const char *aggregate_name(GcAggregate how);
void aggregate_begin(GcAggregate how, double *all);
void aggregate_add(GcAggregate how, double *all, double value, double weight);
double aggregate_of(GcAggregate how, double all, double weight); /* of all that was added */
/* It is an aggregate, or a float scalar, which is averaged else. */
bool output_is_aggregated(const GcTensor *t);
typedef union Total { /* of an element over batches: exact if the output is of integers */
  double real;
  int64_t whole;
} Total;
/* The same of each element of an output, of a run as the session has it; the last one leaves the
   elements of aggregate_tensor(t) in place of the totals. */
void aggregate_begin_array(const GcTensor *t, Total *all);
void aggregate_add_array(const Session *s, const GcTensor *t, Total *all, double weight);
void aggregate_end_array(const GcTensor *t, Total *all, double weight);
GcTensor aggregate_tensor(const GcTensor *t);
void aggregate_note(const Command *cmd, uint64_t runs); /* how outputs are aggregated */

/* ---- limits.c ---- */
/* Of files that are open: what stays in memory, and notes on what does not. */
bool limits_data(Command *cmd, Err *e);
const char *limits_data_cache(const Options *o); /* a folder, or "none" */

/* ---- labels.c ---- */
/* Before files are opened: what --load and --resume know, and --csv-header. */
bool labels_prepare(Command *cmd, DataRequest *q, Err *e);
/* The words that a validation's files have: those known and, of inputs of the same names, those of
   the training's files, which are open. */
bool labels_of_training(const Command *cmd, const Labels *known, Labels *out, Err *e);
/* Once they are: notes, and the words that are written with weights. */
bool labels_take(Command *cmd, Err *e);
void labels_release(Command *cmd);

/* ---- files.c ---- */
/* Whether no file that the command line has the run write is another one that it names;
   `checkpoint` is that option's path, or NULL. */
bool files_check(const Command *cmd, const char *checkpoint, Err *e);

/* ---- load_save.c: --load and --save ---- */
/* Before anything is opened: what the options name. */
bool weights_names(Command *cmd, Err *e);
void weights_names_free(Command *cmd);
bool load_weights(Command *cmd, Err *e); /* and initial values of what no file has */
/* Only weights that are finite, to the file of --save. Rank 0 calls for the slices of others. */
bool write_weights(Command *cmd, Err *e);
bool save_weights(Command *cmd, Err *e); /* if there is --save */

/* ---- checkpoint.c: --checkpoint and --resume ---- */
typedef struct Position { /* where a training run stands */
  uint64_t epoch, batch;  /* both from 0: what comes next */
  uint64_t done;          /* steps done in all */
  uint64_t epoch_steps;   /* steps summed in cmd->sums */
  uint64_t batches;       /* of an epoch */
} Position;
bool checkpoint_prepare(Command *cmd, Err *e);
void checkpoint_free(Command *cmd);
bool checkpoint_write(Command *cmd, const Position *p, Err *e);
bool checkpoint_read(Command *cmd, Position *p, Err *e);

/* ---- profile.c: --profile ---- */
bool profile_write(const Trace *t, OutFile *out, Err *e);

/* ---- params.c ---- */
/* The first of the n params that the entry reads and does not train, if neither a file nor the
   program itself has weights; else NULL. */
const GcTensor *untrained_params(const Command *cmd, int *n);
/* By global of the first program: the run neither reads nor saves it, nor does its validation; to
   free. NULL: all are saved. */
bool unused_globals(const Command *cmd, bool **unused, Err *e);

/* ---- the drivers ---- */
int train_run(Command *cmd);
int infer_run(Command *cmd);
uint64_t infer_bytes(const GcEntry *e); /* of its tables */
/* Whether an output of an entry that does not train is printed once for all batches of files. */
bool infer_aggregates(const GcEntry *e, const GcTensor *t);
int bench_run(Command *cmd);
void info_version(void); /* the line that begins info, and is all of --version */
int info_print(const Options *o, int threads, Err *e);
/* What the command takes of its session's memory. */
uint64_t command_bytes(const GcEntry *e);

/* ---- output_file.c: --OUTPUT FILE ---- */
/* Before anything runs: the format, by the file's name, and whether the file can be written. */
bool output_prepare(Command *cmd, int output, Err *e);
/* Its beginning. `whole`: it is written once, of all rows; else by each of so many runs. */
bool output_begin(Command *cmd, int output, bool whole, uint64_t runs);
/* Elements of a run's output from `first` on, at most OUTPUT_ELEMS, in their order. */
bool output_write(Command *cmd, int output, const GcTensor *t, const void *storage, uint64_t first,
                  uint64_t n);
/* An output as run number `run` has it. */
GcTensor output_in_run(const Command *cmd, const GcTensor *t, uint64_t run, int64_t dims[RUN_RANK]);
/* The half of the session's stage that a piece of a file is put together in; the first half has the
   piece's elements. */
enum { OUTPUT_HALF = STAGE_BYTES / 2, OUTPUT_ELEMS = OUTPUT_HALF / 8 };

/* ---- progress.c ---- */
typedef struct Progress {
  bool terminal;
  double start, last; /* clock */
  double waited;      /* for other ranks, before it */
  uint64_t begin;     /* steps done before this process */
  double rows, since; /* read, but for those of the first step, which touches all memory, if there
                         are others; the clock when they began */
  double first;       /* and when the first step ended */
  bool slow;          /* it has been said that the reader cannot keep up */
} Progress;
void progress_start(Command *cmd, Progress *g, const Position *p);
void progress_step(Command *cmd, Progress *g, const Position *p, uint64_t total);
void progress_clear(const Command *cmd, const Progress *g); /* the line that is rewritten */
void progress_epoch(Command *cmd, Progress *g, const Position *p, uint64_t total);

/* ---- log.c: --log ---- */
bool entry_reads_hyper(const GcEntry *e, int i);
bool log_prepare(const Command *cmd, Err *e);
bool log_open(Command *cmd, const Position *p, Err *e); /* kept up to the position, or new */
void log_step(Command *cmd, const Position *p);
bool log_close(Command *cmd, Err *e);

/* ---- history.c ---- */
uint64_t history_bytes(const GcEntry *e);
bool history_take(Command *cmd, Err *e); /* of the session's memory */
void history_step(Command *cmd, const Position *p);
void history_validation(Command *cmd, uint64_t done);
/* All series as lines of text; and back, up to a step: false: there are none of this run. */
void history_put(const Command *cmd, FILE *f);
bool history_get(Command *cmd, const char *text, uint64_t done);
/* The series of an output in at most n cells; how many. */
int history_cells(const Command *cmd, int output, double *cells, int n);

/* ---- plot.c: --plot ---- */
bool plot_is_svg(const char *path, Err *e); /* and not named as another kind of picture */
bool plot_write(Command *cmd, Err *e);
void plot_resume(Command *cmd, const Position *p); /* goes on with an older plot */

/* ---- show.c ---- */
double output_scalar(const Command *cmd, const GcTensor *t);
/* name = values; integers as words, if there are any */
void output_print(const GcTensor *t, const void *storage, const Words *words);
void note(const Command *cmd, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* unless --quiet */
#endif
