/* Handlers of the instructions of ops.def, and the meanings of Ins.mode for each. */
#ifndef PTXI_EXEC_OPS_H
#define PTXI_EXEC_OPS_H
#include "module.h"

/* Of `size` bytes a lane, where accesses are counted; o: their addresses. */
void count_access(Warp *w, const Opd *o, uint32_t mask, Space space, uint64_t size);

Handler exec_pred; /* mode: and or xor not */
Handler exec_mov32, exec_mov64, exec_pack, exec_unpack, exec_mov_pred;
Handler exec_cvt, exec_cvt_pair, exec_cvt_int;
Handler exec_cvta; /* mode: window; mode2: 1 to the space, 0 from it */
Handler exec_isspacep;
Handler exec_setp; /* mode: Relation bits; mode2: 0 none, 1 and, 2 or, 3 xor */
Handler exec_set;
Handler exec_selp, exec_slct, exec_testp;
Handler exec_ld, exec_st; /* ld, mode: 1 by the read-only path (.nc) */
Handler exec_atom;        /* mode: AtomOp; mode2: 1 has a result */
Handler exec_cp_async, exec_cp_commit, exec_cp_wait, exec_cp_wait_all;
Handler exec_ldmatrix; /* mode: 1 transposed */
Handler exec_stmatrix; /* mode: 1 transposed */
Handler exec_mma;      /* mode: k; type: of a and b; from: of c and d */
Handler exec_shfl, exec_vote, exec_match, exec_redux, exec_activemask, exec_warp_sync;
Handler exec_fence; /* mode: 1 beyond the CTA */
Handler exec_idle;
Handler exec_prefetch;
Handler exec_grid_wait;
Handler exec_carry;

Handler exec_mbarrier_init, exec_mbarrier_inval;
Handler exec_mbarrier; /* mode: MbarrierOp; mods: MBARRIER_RELAXED; vec: 1 has a count */
Handler exec_mbarrier_fence, exec_proxy_fence;
Handler exec_bulk; /* mode: BulkForm; vec: coordinates, 0: bytes; mode2: 1 multicast */
Handler exec_bulk_commit, exec_bulk_wait;
Handler exec_cluster_arrive, exec_mapa, exec_elect;
Waiter wait_mbarrier; /* mode: 1 by parity */
Waiter wait_cluster;
Waiter wait_registers; /* mode: 1 more, 0 fewer */

/* type: of a and b; from: of the sums; mode: columns / 8; mode2: the flags below */
Handler exec_wgmma;
Handler exec_wgmma_fence, exec_wgmma_commit, exec_wgmma_wait;
enum {
  WGMMA_TURN_A = 1,
  WGMMA_TURN_B = 2,
  WGMMA_NEGATE_A = 4,
  WGMMA_NEGATE_B = 8,
  WGMMA_REGISTERS = 16, /* A is in registers */
};

enum { MBARRIER_RELAXED = 1 };
typedef enum MbarrierOp {
  MBARRIER_ARRIVE,
  MBARRIER_ARRIVE_EXPECT,
  MBARRIER_DROP,
  MBARRIER_EXPECT,
  MBARRIER_COMPLETE,
} MbarrierOp;
typedef enum BulkForm { BULK_LOAD, BULK_STORE, BULK_SHARED } BulkForm;
enum { REL_LESS = 1, REL_EQUAL = 2, REL_MORE = 4, REL_NAN = 8 };
typedef enum AtomOp {
  ATOM_ADD,
  ATOM_MIN,
  ATOM_MAX,
  ATOM_AND,
  ATOM_OR,
  ATOM_XOR,
  ATOM_EXCH,
  ATOM_CAS,
  ATOM_INC,
  ATOM_DEC
} AtomOp;
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
#endif
