#include "ipc/types/hex.h"
