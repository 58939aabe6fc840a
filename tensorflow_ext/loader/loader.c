/* libtensorflow_ext_loader.so: for TF_LoadLibrary of a process with any version of TensorFlow. It
 * loads libtensorflow_ext.so from the folder next to it that is named after that version, such as
 * 2.21. If that folder is missing, or its library cannot be loaded, TF_LoadLibrary fails with a
 * reason; for libtensorflow_ext.so itself it only reports 'undefined symbol'. It fails only once:
 * the system does not unload the loader, so a second call runs no constructor and succeeds.
 *
 * Uses only TensorFlow's C interface, which is the same in all versions.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensorflow/c/tf_status.h"

/* Declarations of tensorflow/c/ops.h, which a C compiler rejects. */
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* op_name);
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder, const char* input_spec);
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status);
const char* TF_Version(void);

static const char kLibrary[] = "libtensorflow_ext.so";

/* Makes a string from a folder's path and more parts; the caller frees it. */
#define PATH(result, ...) \
  if (asprintf(&result, __VA_ARGS__) < 0) abort() /* no memory */

/* Makes TF_LoadLibrary fail with these words. A constructor returns nothing, but the registry that
 * TF_LoadLibrary fills refuses an op with a wrong definition and quotes the mistake in its
 * error. */
static void Refuse(const char* words) {
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder("TfExt>Loader");
  TF_OpDefinitionBuilderAddInput(builder, words);
  TF_Status* status = TF_NewStatus();
  TF_RegisterOpDefinition(builder, status);
  TF_DeleteStatus(status);
}

/* "2.21" from "2.21.0-rc1"; the caller frees it. */
static char* Minor(const char* version) {
  const char* end = strchr(version, '.');
  end = end == NULL ? NULL : strchr(end + 1, '.');
  return end == NULL ? strdup(version) : strndup(version, end - version);
}

static int IsVersion(const struct dirent* entry) {
  return strspn(entry->d_name, "0123456789.") == strlen(entry->d_name) && entry->d_name[0] != '.';
}

/* The versions with a folder, as "2.20, 2.21"; the caller frees the string. */
static char* Versions(const char* folder) {
  struct dirent** entries = NULL;
  const int count = scandir(folder, &entries, IsVersion, versionsort);
  char* list = strdup(count > 0 ? "" : "none");
  for (int i = 0; i < count; ++i) {
    char* longer;
    PATH(longer, "%s%s%s", list, i == 0 ? "" : ", ", entries[i]->d_name);
    free(list);
    free(entries[i]);
    list = longer;
  }
  free(entries);
  return list;
}

__attribute__((constructor)) static void Load(void) {
  Dl_info self;
  if (dladdr((const void*)&kLibrary, &self) == 0) return;
  const char* slash = strrchr(self.dli_fname, '/');
  char* folder = slash == NULL ? strdup(".") : strndup(self.dli_fname, slash - self.dli_fname);
  char* minor = Minor(TF_Version());
  char* library;
  PATH(library, "%s/%s/%s", folder, minor, kLibrary);
  char* words = NULL;
  if (access(library, F_OK) != 0) {
    char* versions = Versions(folder);
    PATH(words,
         "this process has TensorFlow %s, but tensorflow_ext in %s has libraries for "
         "TensorFlow %s: use one of these versions, or a tensorflow_ext that is built for %s",
         TF_Version(), folder, versions, minor);
    free(versions);
  } else if (dlopen(library, RTLD_NOW | RTLD_LOCAL) == NULL) {
    words = strdup(dlerror());
  }
  if (words != NULL) Refuse(words);
  free(words);
  free(library);
  free(minor);
  free(folder);
}
