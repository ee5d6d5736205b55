-- DCCP in UDP (RFC 6773) for Wireshark and tshark, which know DCCP but not this port:
--
--   tshark -X lua_script:docs/dccp-udp.lua -r file.pcapng
--
-- or copy it to the folder of personal Lua plugins (Help, About Wireshark, Folders).
-- For a server at another port: -X lua_script1:PORT
--
-- The UDP port is followed by the DCCP header as in protocol 33 (RFC 6773 section 3). Its
-- checksum is zero and means nothing, so leave dccp.check_checksum off.

local arguments = { ... }
local port = tonumber(arguments[1]) or 6511

DissectorTable.get("udp.port"):add(port, Dissector.get("dccp"))
