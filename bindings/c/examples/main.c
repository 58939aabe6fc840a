/* Trains a SavedModel further, in C (fine_tune.h).
 *
 *   fine_tune MODEL DATA BATCH RATE [calls]
 *
 * MODEL is the folder of a SavedModel; its variables are overwritten at the end. DATA is a folder
 * with the training data of all steps as raw values: x, floats, and labels, 32-bit integers. BATCH
 * is the number of examples per step, RATE the learning rate. `calls` keeps the model's function
 * calls, which the gradient then runs a second time. Prints the loss of each step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/examples/fine_tune.h"

/* Reads the whole file DATA/name; the caller frees it. */
static void* Read(const char* folder, const char* name, size_t* size) {
  char path[1024];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void* content = malloc(*size + 1);
  if (content == NULL || fread(content, 1, *size, file) != *size) {
    fprintf(stderr, "fine_tune: %s cannot be read\n", path);
    exit(1);
  }
  fclose(file);
  return content;
}

int main(int argc, char** argv) {
  const bool calls = argc == 6 && strcmp(argv[5], "calls") == 0;
  const int64_t batch = argc > 3 ? atoll(argv[3]) : 0;
  if (argc < 5 || argc > 5 + calls || batch < 1) {
    fprintf(stderr, "usage: fine_tune MODEL DATA BATCH RATE [calls]\n");
    return 2;
  }
  size_t x_bytes, label_bytes;
  float* x = Read(argv[2], "x", &x_bytes);
  int32_t* labels = Read(argv[2], "labels", &label_bytes);
  FineTune* training = FineTune_Load(argv[1], strtof(argv[4], NULL), !calls);
  const int64_t features = FineTune_Features(training);
  const int64_t examples = (int64_t)(label_bytes / sizeof(*labels));
  if ((int64_t)(x_bytes / sizeof(*x)) != examples * features || examples % batch != 0) {
    fprintf(stderr,
            "fine_tune: x has %zu floats for %lld labels; expected %lld for "
            "each, and whole batches of %lld\n",
            x_bytes / sizeof(*x), (long long)examples, (long long)features, (long long)batch);
    return 1;
  }
  for (int64_t i = 0; i < examples; i += batch) {
    printf("%.9g\n", FineTune_Step(training, x + i * features, labels + i, batch));
    fflush(stdout);
  }
  FineTune_Save(training, argv[1]);
  FineTune_Delete(training);
  free(x);
  free(labels);
  return 0;
}
