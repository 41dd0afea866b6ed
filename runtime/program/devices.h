/* Which kinds of devices there are, the one that a session takes place on, and of the levels of
   instructions that a program holds for it the one that runs. */
#ifndef GCRT_DEVICES_H
#define GCRT_DEVICES_H
#include "runtime/exec/session.h"

typedef struct DeviceKind {
  const char *name;     /* also the target of its programs */
  const char *choice;   /* what the n of name:n is; NULL: there is one */
  const char *of_ranks; /* of which each rank has one: what says which they may take; or NULL */
  const DeviceOps *ops;
} DeviceKind;
typedef struct DeviceChoice { /* what a user asked for, or what is tried first */
  const DeviceKind *kind;
  int ordinal;
  const char *level; /* of its programs; NULL: the best that runs here */
  char name[64];     /* "cpu", "cpu:LEVEL", "NAME:0" */
} DeviceChoice;

const DeviceKind *device_kind(const GcProgram *p); /* that runs it */
/* The first of the programs for a kind of device, or the next one behind another; NULL: there is
   none. They are levels of instructions, from the lowest. */
const GcProgram *program_level(const DeviceKind *kind, const GcProgram *before);
/* That of a level, or the last that runs here, or the lowest, which the device refuses. NULL: the
   program holds no code for it. */
const GcProgram *program_for(const DeviceKind *kind, const char *level);
/* The level of a program that is one of several for its kind of device; else NULL. */
const char *program_level_name(const GcProgram *p);
/* A name that a user gave: "cpu", "cpu:x86-64-v3", "NAME:0". */
bool device_parse(const char *name, DeviceChoice *c, Err *e);
/* The n-th of the kinds that the program has code for, from 0; false: there are fewer. */
bool device_preferred(int n, DeviceChoice *c);
#endif
