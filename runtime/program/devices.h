/* Which kinds of devices there are, and the one that a session takes place on. */
#ifndef GCRT_DEVICES_H
#define GCRT_DEVICES_H
#include "runtime/exec/session.h"

typedef struct DeviceKind {
  const char *name;   /* also the target of its programs */
  const char *choice; /* what the n of name:n is; NULL: there is one */
  const DeviceOps *ops;
} DeviceKind;
typedef struct DeviceChoice { /* what a user asked for, or what is tried first */
  const DeviceKind *kind;
  int ordinal;
  char name[24]; /* "cpu", "NAME:0" */
} DeviceChoice;

const DeviceKind *device_kind(const GcProgram *p); /* that runs it */
/* The copy of a program for a kind of device; NULL: it holds no code for it. */
const GcProgram *program_for(const DeviceKind *kind);
/* A name that a user gave. */
bool device_parse(const char *name, DeviceChoice *c, Err *e);
/* The n-th of the kinds that the program has code for, from 0; false: there are fewer. */
bool device_preferred(int n, DeviceChoice *c);
#endif
