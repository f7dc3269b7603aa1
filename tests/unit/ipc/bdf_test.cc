#include "ipc/types/bdf.h"
