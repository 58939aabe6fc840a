#!/usr/bin/env bash
# fetch_jars.sh LOCK_FILE FOLDER: fetches the jars of the lock file into FOLDER, by Maven.
#
# FOLDER/native gets only the native libraries that join Java to TensorFlow. TensorFlow's own
# libraries, a gigabyte when unpacked, are those of the wheel; FOLDER/native has links to them.
# FOLDER is in the virtual environment.

set -euo pipefail
lock=$1 folder=$2

rm -rf "$folder"
mkdir -p "$folder/native"
while IFS=': ' read -r sum group name version type classifier; do
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:2.8:copy \
    -Dartifact="$group:$name:$version:${type:-jar}${classifier:+:$classifier}" \
    -DoutputDirectory="$folder" </dev/null
  jar=$folder/$name-$version${classifier:+-$classifier}.jar
  sha256sum --quiet --check - <<<"$sum  $jar"
  [[ -n $classifier ]] || continue
  "$folder/../bin/python" - "$jar" "$folder/native" <<'PYTHON'
import pathlib, sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as jar:
    for path in map(pathlib.PurePath, jar.namelist()):
        if path.name.startswith("libjni"):
            (pathlib.Path(sys.argv[2]) / path.name).write_bytes(jar.read(str(path)))
PYTHON
  rm "$jar"
done < <(grep -v '^#' "$lock")
python=$(basename "$folder"/../lib/python3.*)
for library in cc framework; do
  ln -s "../../lib/$python/site-packages/tensorflow/libtensorflow_$library.so.2" \
    "$folder/native"
done
