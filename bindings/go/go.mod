module tensorflowext.org/go

go 1.19

require github.com/wamuir/graft v0.7.0

require google.golang.org/protobuf v1.31.0 // indirect
