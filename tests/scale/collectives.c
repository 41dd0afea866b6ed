/* What collectives take between the ranks of this machine, as programs of gc call them:
   nonblocking, tested until they are over. Prints for each kind and size the median of the slowest
   rank, "all_reduce BYTES SECONDS", which `scale FOLDER cpu` reads.
   - mpicc -O2 collectives.c -o collectives
   - mpirun -n 2 ./collectives [SECONDS for each size, default 0.2] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 4, MOST = 1 << 26, RUNS = 4001, FEWEST = 5 };

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void begin(int kind, float *whole, float *part, int n, int ranks, MPI_Request *q) {
  if (kind == 0)
    MPI_Iallreduce(MPI_IN_PLACE, whole, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, q);
  else if (kind == 1)
    MPI_Ireduce_scatter_block(whole, part, n / ranks, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, q);
  else
    MPI_Iallgather(part, n / ranks, MPI_FLOAT, whole, n / ranks, MPI_FLOAT, MPI_COMM_WORLD, q);
}

static double once(int kind, float *whole, float *part, int n, int ranks) {
  MPI_Request q;
  int done = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double from = MPI_Wtime(), took, slowest;
  begin(kind, whole, part, n, ranks, &q);
  while (!done) MPI_Test(&q, &done, MPI_STATUS_IGNORE);
  took = MPI_Wtime() - from;
  MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char **argv) {
  static const char *const kinds[] = {"all_reduce", "reduce_scatter", "all_gather"};
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double budget = argc > 1 ? atof(argv[1]) : 0.2;
  float *whole = malloc(MOST), *part = malloc(MOST);
  double *took = malloc(RUNS * sizeof *took);
  if (!whole || !part || !took) MPI_Abort(MPI_COMM_WORLD, 3);
  memset(whole, 0, MOST);
  memset(part, 0, MOST);
  for (int kind = 0; kind < 3; kind++)
    for (int bytes = kind ? LEAST * ranks : LEAST; bytes <= MOST; bytes *= 4) {
      int runs = 0;
      double sum = 0;
      for (int go = 1; go && runs < RUNS; runs++) {
        took[runs] = once(kind, whole, part, bytes / LEAST, ranks);
        sum += took[runs];
        go = runs < FEWEST || sum < budget;
      }
      qsort(took, (size_t)runs, sizeof *took, by_value);
      if (!rank) printf("%s %d %.9f\n", kinds[kind], bytes, took[runs / 2]);
    }
  MPI_Finalize();
  return 0;
}
