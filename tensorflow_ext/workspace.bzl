"""The repositories that a WORKSPACE needs besides this one: see build_defs.bzl."""

load("//third_party/bazel_stubs:stubs.bzl", "offline_stubs")
load("//third_party/cuda:cuda_configure.bzl", "cuda_configure")
load("//third_party/go:go_configure.bzl", "go_configure")
load("//third_party/java:java_configure.bzl", "java_configure")
load("//third_party/python:python_configure.bzl", "python_configure")
load("//third_party/rust:rust_configure.bzl", "rust_configure")
load("//third_party/tensorflow:tensorflow_configure.bzl", "tensorflow_configure")

def tensorflow_ext_workspace():
    """Finds Python, TensorFlow, CUDA, Go and Java on this machine; downloads nothing.

    Python is the first of $TF_PYTHON, .venv in the workspace, .venv in this repository,
    and python3 on PATH (third_party/python/find_python.bzl).
    """
    offline_stubs()
    python_configure(name = "local_config_python")
    native.register_toolchains("@local_config_python//:toolchain")
    tensorflow_configure(name = "local_config_tf")
    cuda_configure(name = "local_config_cuda")
    go_configure(name = "local_config_go")
    java_configure(name = "local_config_java")
    rust_configure(name = "local_config_rust")
