/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clients/harness/case.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxTokens = 8192 };

/* Where the parser stands, and the words of the current line. */
typedef struct Parser {
  const char* path;
  int line;
  int count;
  char* words[kMaxTokens];
  Case defaults; /* what the lines since `op` say, before its first case */
  Case* current; /* the defaults or the last case of the list */
  CaseList* list;
} Parser;

static bool Fail(const Parser* p, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: ", p->path, p->line);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  return false;
}

static void* Allocate(size_t bytes) {
  void* memory = calloc(1, bytes + 1);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return memory;
}

static bool CopyWord(const Parser* p, const char* word, char* to) {
  if (strlen(word) >= kMaxName) return Fail(p, "'%s' is too long", word);
  strcpy(to, word);
  return true;
}

static bool ParseNumber(const char* word, double* number) {
  char* end;
  errno = 0;
  *number = strtod(word, &end);
  return end != word && *end == '\0';
}

/* The numbers in words first, first + 1, ... up to the end of the line. */
static bool ParseNumbers(const Parser* p, int first, Values* values) {
  values->count = p->count - first;
  double* list = Allocate((size_t)values->count * sizeof(double));
  for (int i = 0; i < values->count; ++i) {
    if (!ParseNumber(p->words[first + i], &list[i])) {
      return Fail(p, "'%s' is not a number", p->words[first + i]);
    }
  }
  values->list = list;
  return true;
}

/* values V... | uniform SEED LOW HIGH [avoid V...] | choose SEED V... |
 * permutation SEED STEP | none */
static bool ParseValues(const Parser* p, int first, Values* values) {
  memset(values, 0, sizeof(*values));
  const char* kind = first < p->count ? p->words[first] : "";
  int left = p->count - first - 1;
  double numbers[3];
  for (int i = 0; i < 3 && i < left; ++i) {
    if (!ParseNumber(p->words[first + 1 + i], &numbers[i])) numbers[i] = NAN;
  }
  if (strcmp(kind, "none") == 0 && left == 0) {
    values->kind = kNone;
    return true;
  }
  if (strcmp(kind, "values") == 0) {
    values->kind = kListed;
    return ParseNumbers(p, first + 1, values);
  }
  if (left >= 1) values->seed = (uint64_t)numbers[0];
  if (strcmp(kind, "choose") == 0 && left >= 2) {
    values->kind = kChoose;
    return ParseNumbers(p, first + 2, values);
  }
  if (strcmp(kind, "permutation") == 0 && left == 2) {
    values->kind = kPermutation;
    values->step = numbers[1];
    return true;
  }
  if (strcmp(kind, "uniform") == 0 && left >= 3) {
    values->kind = kUniform;
    values->low = numbers[1];
    values->high = numbers[2];
    if (left == 3) return true;
    if (strcmp(p->words[first + 4], "avoid") == 0) {
      return ParseNumbers(p, first + 5, values);
    }
  }
  return Fail(p,
              "expected values V..., uniform SEED LOW HIGH [avoid V...], "
              "choose SEED V..., permutation SEED STEP or none");
}

static bool ParseShape(const Parser* p, const char* word, InputSpec* input) {
  input->rank = 0;
  const char* at = word;
  if (*at++ != '[') return Fail(p, "'%s' is not a shape: [2,3]", word);
  while (*at != ']') {
    char* end;
    long long dim = strtoll(at, &end, 10);
    if (end == at || dim < 0 || (*end != ',' && *end != ']') ||
        input->rank == kMaxRank) {
      return Fail(p, "'%s' is not a shape: [2,3]", word);
    }
    input->dims[input->rank++] = dim;
    at = *end == ',' ? end + 1 : end;
  }
  return at[1] == '\0' || Fail(p, "'%s' is not a shape: [2,3]", word);
}

static bool ParseTypeSpec(const Parser* p, const char* word, TypeSpec* spec) {
  if (strcmp(word, "T") == 0) {
    spec->kind = kTypeT;
  } else if (strcmp(word, "compute") == 0) {
    spec->kind = kComputeTypeOfT;
  } else if (!ParseType(word, &spec->dtype)) {
    return Fail(p, "'%s' is neither T nor compute nor a type", word);
  }
  return true;
}

static bool ParseInput(Parser* p) {
  if (p->count < 5) return Fail(p, "expected input NAME TYPE SHAPE VALUES");
  Case* c = p->current;
  if (c->input_count == kMaxInputs) return Fail(p, "too many inputs");
  InputSpec* input = &c->inputs[c->input_count++];
  memset(input, 0, sizeof(*input));
  char* dot = strchr(p->words[1], '.');
  if (dot != NULL) {
    *dot = '\0';
    input->in_list = true;
  }
  return ParseTypeSpec(p, p->words[2], &input->type) &&
         CopyWord(p, p->words[1], input->argument) &&
         ParseShape(p, p->words[3], input) && ParseValues(p, 4, &input->values);
}

/* upstream INDEX ..., output INDEX ..., gradient INDEX ... */
static bool ParseIndexed(const Parser* p, int limit, int* index) {
  double number = -1;
  if (p->count >= 3) ParseNumber(p->words[1], &number);
  *index = (int)number;
  return (*index >= 0 && *index < limit) ||
         Fail(p, "expected %s INDEX (0 to %d) and values", p->words[0],
              limit - 1);
}

static bool ParseTypes(Parser* p) {
  Case* c = p->current;
  c->type_count = 0;
  for (int i = 1; i < p->count; ++i) {
    if (c->type_count == kMaxTypes ||
        !ParseType(p->words[i], &c->types[c->type_count++])) {
      return Fail(p, "'%s' is not a type", p->words[i]);
    }
  }
  return c->type_count > 0 || Fail(p, "expected types TYPE...");
}

static bool ParseAttr(Parser* p) {
  static const char* const kKinds[] = {"int", "float", "bool", "string",
                                       "type"};
  if (p->count != 4) return Fail(p, "expected attr NAME KIND VALUE");
  Case* c = p->current;
  int index = 0;
  while (index < c->attr_count &&
         strcmp(c->attrs[index].name, p->words[1]) != 0) {
    ++index;
  }
  if (index == kMaxAttrs) return Fail(p, "too many attributes");
  AttrSpec attr = {.kind = kAttrInt};
  int kind = 0;
  while (kind < 5 && strcmp(kKinds[kind], p->words[2]) != 0) ++kind;
  if (kind == 5) return Fail(p, "'%s' is not a kind", p->words[2]);
  const char* value = p->words[3];
  bool ok = true;
  if (kind == kAttrBool) {
    attr.i = strcmp(value, "true") == 0;
    ok = attr.i || strcmp(value, "false") == 0;
  } else if (kind == kAttrType) {
    if (!ParseTypeSpec(p, value, &attr.type)) return false;
  } else if (kind != kAttrString) {
    ok = ParseNumber(value, &attr.f);
    attr.i = ok && isfinite(attr.f) ? (int64_t)attr.f : 0;
  }
  if (!ok) return Fail(p, "'%s' is not a %s", value, p->words[2]);
  attr.kind = kind;
  if (!CopyWord(p, p->words[1], attr.name) || !CopyWord(p, value, attr.s)) {
    return false;
  }
  c->attrs[index] = attr;
  if (index == c->attr_count) ++c->attr_count;
  return true;
}

static bool ParseNode(const Parser* p, Chain* chain) {
  if (p->count == 2 && strcmp(p->words[1], "none") == 0) {
    chain->count = 0;
    return true;
  }
  int arguments = p->count - 3;
  if (arguments < 1 || arguments > kMaxArguments || chain->count == kMaxNodes) {
    return Fail(p, "expected %s NAME OP ARGUMENT..., at most %d lines",
                p->words[0], kMaxNodes);
  }
  NodeSpec* node = &chain->nodes[chain->count++];
  node->argument_count = arguments;
  bool ok = CopyWord(p, p->words[1], node->name) &&
            CopyWord(p, p->words[2], node->op);
  for (int i = 0; i < arguments; ++i) {
    ok = ok && CopyWord(p, p->words[3 + i], node->arguments[i]);
  }
  return ok;
}

static bool ParseError(Parser* p) {
  if (p->count < 3) return Fail(p, "expected error CODE TEXT");
  char* fragments = p->current->fragments;
  size_t used = 0;
  for (int i = 2; i < p->count; ++i) {
    if (used + strlen(p->words[i]) + 2 > kMaxFragments) {
      return Fail(p, "the text is too long");
    }
    used += (size_t)sprintf(fragments + used, "%s%s", i > 2 ? " " : "",
                            p->words[i]);
  }
  return CopyWord(p, p->words[1], p->current->error);
}

static bool ParseOp(Parser* p) {
  if (p->count != 2) return Fail(p, "expected op TYPE");
  memset(&p->defaults, 0, sizeof(p->defaults));
  p->defaults.tolerance = 4;
  p->current = &p->defaults;
  return CopyWord(p, p->words[1], p->defaults.op);
}

static bool ParseCase(Parser* p) {
  if (p->count != 2) return Fail(p, "expected case NAME");
  if (p->defaults.type_count == 0) {
    return Fail(p, "an op line and a types line come before the first case");
  }
  CaseList* list = p->list;
  Case* cases =
      realloc(list->cases, (size_t)(list->count + 1) * sizeof(*cases));
  if (cases == NULL) return Fail(p, "out of memory");
  list->cases = cases;
  p->current = &cases[list->count++];
  *p->current = p->defaults;
  return CopyWord(p, p->words[1], p->current->name);
}

static bool ParseLine(Parser* p) {
  const char* keyword = p->words[0];
  int index;
  if (strcmp(keyword, "op") == 0) return ParseOp(p);
  if (p->current == NULL) return Fail(p, "the first line is op TYPE");
  if (strcmp(keyword, "case") == 0) return ParseCase(p);
  if (strcmp(keyword, "types") == 0) return ParseTypes(p);
  if (strcmp(keyword, "attr") == 0) return ParseAttr(p);
  if (strcmp(keyword, "input") == 0) return ParseInput(p);
  if (strcmp(keyword, "gradient") == 0) {
    return ParseIndexed(p, kMaxInputs, &index) &&
           ParseValues(p, 2, &p->current->gradients[index]);
  }
  if (strcmp(keyword, "error") == 0) return ParseError(p);
  if (strcmp(keyword, "reference") == 0) {
    return ParseNode(p, &p->current->reference);
  }
  if (strcmp(keyword, "loss") == 0) return ParseNode(p, &p->current->loss);
  if (strcmp(keyword, "upstream") == 0) {
    return ParseIndexed(p, kMaxOutputs, &index) &&
           ParseValues(p, 2, &p->current->upstreams[index]);
  }
  if (strcmp(keyword, "output") == 0) {
    return ParseIndexed(p, kMaxOutputs, &index) &&
           ParseValues(p, 2, &p->current->outputs[index]);
  }
  if (strcmp(keyword, "tolerance") == 0 && p->count == 2) {
    return ParseNumber(p->words[1], &p->current->tolerance) ||
           Fail(p, "'%s' is not a number", p->words[1]);
  }
  return Fail(p, "'%s' is not a line of a case", keyword);
}

/* Splits `text` in place: comments and continued lines ("\" at the end) are
 * dealt with here. */
static bool ParseText(Parser* p, char* text) {
  bool comment = false;
  int line = 1;
  p->count = 0;
  for (char* at = text; *at != '\0';) {
    if (*at == '\n' || *at == ' ' || *at == '\t' || *at == '\r') {
      bool end = *at == '\n';
      *at++ = '\0';
      if (!end) continue;
      comment = false;
      p->line = line++;
      if (p->count > 0 && strcmp(p->words[p->count - 1], "\\") == 0) {
        --p->count;
        continue;
      }
      if (p->count > 0 && !ParseLine(p)) return false;
      p->count = 0;
      continue;
    }
    if (*at == '#') comment = true;
    if (!comment) {
      if (p->count == kMaxTokens) return Fail(p, "the line is too long");
      p->words[p->count++] = at;
    }
    at += strcspn(at, " \t\r\n");
  }
  p->line = line;
  return p->count == 0 || ParseLine(p);
}

bool ReadCases(const char* path, CaseList* list) {
  Parser* parser = Allocate(sizeof(Parser));
  parser->path = path;
  parser->list = list;
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    free(parser);
    return false;
  }
  size_t size = 0;
  size_t capacity = 1 << 16;
  char* text = Allocate(capacity);
  for (size_t got; (got = fread(text + size, 1, capacity - size, file)) > 0;) {
    size += got;
    if (size < capacity) continue;
    char* larger = Allocate(2 * capacity);
    memcpy(larger, text, size);
    free(text);
    text = larger;
    capacity *= 2;
  }
  fclose(file);
  text[size] = '\0';
  bool ok = ParseText(parser, text);
  free(text);
  free(parser);
  return ok;
}
