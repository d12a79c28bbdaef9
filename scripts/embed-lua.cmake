# Writes a C++ source with every Lua script behind the prologue, and the SHA1 that EVALSHA wants.
# cmake -DOUT=scripts.cpp -DPROLOGUE=prologue.lua -DFILES="a.lua;b.lua" -P embed-lua.cmake
file(READ "${PROLOGUE}" prologue)
set(text "#include \"store/redis/scripts.hpp\"\n\nnamespace store::redis::scripts {\n\n")
foreach(file IN LISTS FILES)
  file(READ "${file}" own)
  get_filename_component(name "${file}" NAME_WE)
  set(body "${prologue}\n${own}")
  string(SHA1 sha1 "${body}")
  string(APPEND text "const Script ${name}{\"${sha1}\", R\"lua(${body})lua\"};\n\n")
endforeach()
string(APPEND text "}  // namespace store::redis::scripts\n")
file(WRITE "${OUT}" "${text}")
