/* Time that only goes forward, for reports and time limits; nothing that is made depends on it. */
#ifndef GC_IR_CLOCK_H
#define GC_IR_CLOCK_H

double clock_seconds(void);
#endif
