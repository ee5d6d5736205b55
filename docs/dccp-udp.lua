-- DCCP in UDP (RFC 6773) for Wireshark and tshark, which know DCCP but not this port:
--
--   tshark -X lua_script:docs/dccp-udp.lua -o dccp.check_checksum:FALSE -r file.pcapng
--
-- or copy it to the folder of personal Lua plugins (Help, About Wireshark, Folders).
-- For a server at another port: -X lua_script1:PORT
--
-- The UDP header is followed by the DCCP header of protocol 33 (RFC 6773 section 3.3). Its
-- checksum is zero and means nothing, so it must not be checked.

local arguments = { ... }
local port = tonumber(arguments[1]) or 6511

-- The dissector has no name of its own; it is known as that of IP protocol 33.
local dccp = DissectorTable.get("ip.proto"):get_dissector(33)
DissectorTable.get("udp.port"):add(port, dccp)
