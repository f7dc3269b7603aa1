#include "ipc/types/viability.h"
