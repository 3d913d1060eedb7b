#include "CLinux.h"
int hwd_placeholder(void){return 0;}
