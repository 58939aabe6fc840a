#include "bindings/c/client/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/tf_tstring.h"

enum { kMaxRank = 254 };

void Require(bool condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "malformed request: %s\n", what);
  exit(1);
}

static void Read(void* to, size_t size) {
  Require(fread(to, 1, size, stdin) == size, "it ends too early");
}

static int64_t ReadInt(void) {
  int64_t value;
  Read(&value, sizeof(value));
  return value;
}

int ReadCount(int limit) {
  int64_t count = ReadInt();
  Require(0 <= count && count <= limit, "a count is out of range");
  return (int)count;
}

/* Bytes and a NUL after them; the caller frees them. */
static char* ReadBytes(size_t* size) {
  *size = (size_t)ReadInt();
  char* bytes = malloc(*size + 1);
  Require(bytes != NULL, "more bytes than memory");
  Read(bytes, *size);
  bytes[*size] = '\0';
  return bytes;
}

char* ReadString(void) {
  size_t size;
  return ReadBytes(&size);
}

TF_Buffer* ReadBuffer(void) {
  size_t size;
  char* bytes = ReadBytes(&size);
  TF_Buffer* buffer = TF_NewBufferFromString(bytes, size);
  free(bytes);
  return buffer;
}

void ReadNames(Names* names) {
  names->count = ReadCount(kMaxNames);
  for (int i = 0; i < names->count; ++i) names->names[i] = ReadString();
}

void FreeNames(Names* names) {
  for (int i = 0; i < names->count; ++i) free(names->names[i]);
}

static TF_Tensor* ReadTensor(void) {
  TF_DataType dtype = (TF_DataType)ReadInt();
  int rank = ReadCount(kMaxRank);
  int64_t dims[kMaxRank];
  Read(dims, (size_t)rank * sizeof(dims[0]));
  size_t size = (size_t)ReadInt();
  if (dtype != TF_STRING) {
    TF_Tensor* tensor = TF_AllocateTensor(dtype, dims, rank, size);
    Read(TF_TensorData(tensor), size);
    return tensor;
  }
  TF_Tensor* tensor = TF_AllocateTensor(dtype, dims, rank, size * sizeof(TF_TString));
  TF_TString* strings = TF_TensorData(tensor);
  for (size_t i = 0; i < size; ++i) {
    size_t length;
    char* bytes = ReadBytes(&length);
    TF_StringInit(&strings[i]);
    TF_StringCopy(&strings[i], bytes, length);
    free(bytes);
  }
  return tensor;
}

static void DeleteTensor(TF_Tensor* tensor) {
  if (TF_TensorType(tensor) == TF_STRING) {
    TF_TString* strings = TF_TensorData(tensor);
    for (int64_t i = 0; i < TF_TensorElementCount(tensor); ++i) {
      TF_StringDealloc(&strings[i]);
    }
  }
  TF_DeleteTensor(tensor);
}

void ReadFeeds(Feeds* feeds) {
  feeds->names.count = ReadCount(kMaxNames);
  for (int i = 0; i < feeds->names.count; ++i) {
    feeds->names.names[i] = ReadString();
    feeds->values[i] = ReadTensor();
  }
}

void FreeFeeds(Feeds* feeds) {
  for (int i = 0; i < feeds->names.count; ++i) DeleteTensor(feeds->values[i]);
  FreeNames(&feeds->names);
}

void WriteInt(int64_t value) { fwrite(&value, sizeof(value), 1, stdout); }

void WriteBytes(const void* bytes, size_t size) {
  WriteInt((int64_t)size);
  fwrite(bytes, 1, size, stdout);
}

void WriteOutput(TF_Output output) {
  char name[1024] = ""; /* stays empty where there is no gradient */
  if (output.oper != NULL) {
    const char* node = TF_OperationName(output.oper);
    snprintf(name, sizeof(name), "%s:%d", node, output.index);
  }
  WriteBytes(name, strlen(name));
}

static void WriteTensor(const TF_Tensor* tensor) {
  WriteInt(TF_TensorType(tensor));
  WriteInt(TF_NumDims(tensor));
  for (int i = 0; i < TF_NumDims(tensor); ++i) WriteInt(TF_Dim(tensor, i));
  if (TF_TensorType(tensor) != TF_STRING) {
    WriteBytes(TF_TensorData(tensor), TF_TensorByteSize(tensor));
    return;
  }
  const TF_TString* strings = TF_TensorData(tensor);
  WriteInt(TF_TensorElementCount(tensor));
  for (int64_t i = 0; i < TF_TensorElementCount(tensor); ++i) {
    WriteBytes(TF_StringGetDataPointer(&strings[i]), TF_StringGetSize(&strings[i]));
  }
}

void WriteTensors(TF_Tensor** tensors, int count) {
  WriteInt(count);
  for (int i = 0; i < count; ++i) {
    WriteTensor(tensors[i]);
    DeleteTensor(tensors[i]);
  }
}
