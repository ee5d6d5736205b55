#include <shim/kernel.h>
