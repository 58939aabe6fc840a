/* Reads requests from standard input and writes answers to standard output
 * (tests/clients/README.md). A malformed request ends the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"

enum { kMaxNames = 1024 };

/* Tensors of a graph, "node:index". */
typedef struct {
  int count;
  char* names[kMaxNames];
} Names;

typedef struct {
  Names names;
  TF_Tensor* values[kMaxNames];
} Feeds;

/* Ends the process with 1 and says why, unless the condition holds. */
void Require(bool condition, const char* what);

/* Ends the process unless the number is between 0 and the limit. */
int ReadCount(int limit);
/* The caller frees it. */
char* ReadString(void);
/* The caller deletes it. */
TF_Buffer* ReadBuffer(void);
void ReadNames(Names* names);
void FreeNames(Names* names);
void ReadFeeds(Feeds* feeds);
void FreeFeeds(Feeds* feeds);

void WriteInt(int64_t value);
void WriteBytes(const void* bytes, size_t size);
/* The tensor's name; the empty string if there is none. */
void WriteOutput(TF_Output output);
/* Also deletes the tensors. */
void WriteTensors(TF_Tensor** tensors, int count);
