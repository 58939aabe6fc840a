module tensorflow-ext.test/clients

go 1.19

require github.com/wamuir/graft v0.7.0
